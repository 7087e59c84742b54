"""Step 2, the paper: a loss plus a penalty on eigenvalues, minimised over positive semi-definite matrices."""
