"""The little of object storage that functions need."""
