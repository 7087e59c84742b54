"""What completed similarities are good for: classes of incomplete samples found again, by ours and by imputers."""
