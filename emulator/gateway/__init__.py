"""The front door: listening, the pipeline every request passes, the choice of service, the admin pages."""
