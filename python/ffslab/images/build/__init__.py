"""Images of whole chips, made from a description of partitions and volumes."""
