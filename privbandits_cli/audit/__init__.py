"""Audits, which try to refute the guarantees. An audit can refute a claim; it cannot prove one."""
