"""What a run consists of: cells, their selection, blocks and shards."""
