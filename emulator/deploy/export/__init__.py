"""What an emulator holds, written as the files that the cloud's own tools deploy, and compared with such files."""
