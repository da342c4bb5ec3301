"""Java's own programs, which tests run for a second or two: too short for what a virtual machine optimizes meanwhile.

Compiling for speed and collecting garbage beside the program took half of their processor time.
"""

OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Options of a virtual machine."""

JAVA = ("java", *OPTIONS)
"""The words that begin a command of ``java``."""

JAVAC = ("javac", *(f"-J{each}" for each in OPTIONS))
"""The same of ``javac``."""

MAVEN = {"MAVEN_OPTS": " ".join(OPTIONS)}
"""The variable that has ``mvn`` run so."""
