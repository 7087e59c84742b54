"""Missing values themselves: found in standard units, with deviations learnt by hiding, drawn, and pooled."""
