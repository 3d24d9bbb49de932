"""What Kubernetes objects say: typed views of the fields Quotree uses, and their text. No opinions."""
