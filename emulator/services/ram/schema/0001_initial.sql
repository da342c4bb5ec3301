-- Identities and policies belong to an account and are the same in every region, so there is no region column.
CREATE TABLE ram_roles (
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    trust TEXT NOT NULL,
    max_session_s INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (account, name)
) WITHOUT ROWID;

CREATE TABLE ram_users (
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    display_name TEXT NOT NULL,
    mobile_phone TEXT NOT NULL,
    email TEXT NOT NULL,
    comments TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (account, name)
) WITHOUT ROWID;

CREATE TABLE ram_access_keys (
    key_id TEXT PRIMARY KEY,
    account TEXT NOT NULL,
    user TEXT NOT NULL,
    secret TEXT NOT NULL,
    active INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX ram_access_keys_by_user ON ram_access_keys (account, user);

CREATE TABLE ram_groups (
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    comments TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (account, name)
) WITHOUT ROWID;

CREATE TABLE ram_members (
    account TEXT NOT NULL,
    user TEXT NOT NULL,
    group_name TEXT NOT NULL,
    joined_at INTEGER NOT NULL,
    PRIMARY KEY (account, user, group_name)
) WITHOUT ROWID;

CREATE INDEX ram_members_by_group ON ram_members (account, group_name);

-- Policies that callers made; those of the system are part of the program.
CREATE TABLE ram_policies (
    account TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    default_version INTEGER NOT NULL,
    last_version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (account, name)
) WITHOUT ROWID;

CREATE TABLE ram_policy_versions (
    account TEXT NOT NULL,
    policy TEXT NOT NULL,
    version INTEGER NOT NULL,
    document TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (account, policy, version)
) WITHOUT ROWID;

-- holder_kind is User, Group or Role; policy_type System or Custom.
CREATE TABLE ram_attachments (
    account TEXT NOT NULL,
    holder_kind TEXT NOT NULL,
    holder TEXT NOT NULL,
    policy_type TEXT NOT NULL,
    policy TEXT NOT NULL,
    attached_at INTEGER NOT NULL,
    PRIMARY KEY (account, holder_kind, holder, policy_type, policy)
) WITHOUT ROWID;

CREATE INDEX ram_attachments_by_policy ON ram_attachments (account, policy_type, policy);
