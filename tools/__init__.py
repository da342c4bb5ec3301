"""Tools of the project: the documentation as a site, generated files and tables, the bill of materials."""
