"""Trade-offs: what simplicity costs, and every tree that is about as good as the best one."""
