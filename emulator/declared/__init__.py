"""Resources that ``localyun.yaml`` declares: read and checked, then made or changed when the emulator starts."""
