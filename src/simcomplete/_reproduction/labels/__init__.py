"""Classes of incomplete samples, predicted from completed similarities and from imputed rows."""
