"""Which runs make up each part of the reproduction, and how one is carried out; a part of paper."""
