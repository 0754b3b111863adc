"""What a run leaves behind: JUnit XML for CI servers, requests that show a fault as a recording, rows for a page."""

from specsim.conformance.report.junit import junit
from specsim.conformance.report.picture import Follower, picture
from specsim.conformance.report.replay import replay_lines, write_replay

__all__ = ["Follower", "junit", "picture", "replay_lines", "write_replay"]
