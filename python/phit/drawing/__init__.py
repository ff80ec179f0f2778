"""What results show: plots, tables, tracks, time-lapses, reports and reasons."""
