-- The aliases that keep a version from being deleted; they are written seldom.
CREATE INDEX workflow_aliases_by_version ON workflow_aliases (flow, version, name);
CREATE INDEX workflow_aliases_by_other_version ON workflow_aliases (flow, other_version, name)
  WHERE other_version IS NOT NULL;
