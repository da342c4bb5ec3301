"""The part of object storage that functions need."""
