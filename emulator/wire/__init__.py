"""What requests and answers are made of in every service: the decoded request, XML, RPC, multipart, YAML, dates."""
