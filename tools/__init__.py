"""Tools of the project: the documentation as a site, what is generated from the program, the bill of materials."""
