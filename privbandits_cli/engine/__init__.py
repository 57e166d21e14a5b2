"""Running a plan: chunks of trials, the engines that play them, the store that keeps them."""
