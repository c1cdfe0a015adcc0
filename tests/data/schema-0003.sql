BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0003');
CREATE TABLE allocations (
	id TEXT NOT NULL, 
	uid TEXT NOT NULL, 
	owner_project TEXT NOT NULL, 
	owner_name TEXT NOT NULL, 
	instance TEXT NOT NULL, 
	pool TEXT NOT NULL, 
	node TEXT NOT NULL, 
	capacity_milli BIGINT NOT NULL, 
	cores INTEGER NOT NULL, 
	memory_mib BIGINT NOT NULL, 
	ports TEXT NOT NULL, 
	"exclusive" INTEGER NOT NULL, 
	created_at DOUBLE NOT NULL, kind TEXT DEFAULT 'job' NOT NULL, devices TEXT DEFAULT '[]' NOT NULL, starts_at DOUBLE, ends_at DOUBLE, tenant TEXT, lease INTEGER DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_allocations PRIMARY KEY (id)
);
INSERT INTO "allocations" VALUES('j1','00000000-0000-4000-8000-000000000004','default','b.primary.web','j1','local','n',1000,0,0,'["8001/tcp"]',0,1000.0,'job','[]',NULL,NULL,NULL,0);
INSERT INTO "allocations" VALUES('night-0','00000000-0000-4000-8000-000000000005','default','night','night','local','n',0,0,0,'[]',0,1000.0,'reservation','[["g0",1000]]',2000000000.0,2000003600.0,NULL,0);
INSERT INTO "allocations" VALUES('mine-0','00000000-0000-4000-8000-000000000006','default','mine','mine','local','n',0,0,0,'[]',0,1000.0,'reservation','[["g1",1000]]',2000000000.0,2000003600.0,NULL,0);
CREATE TABLE applied (
	uid TEXT NOT NULL, 
	manager TEXT NOT NULL, 
	document TEXT NOT NULL, 
	at DOUBLE NOT NULL, 
	CONSTRAINT pk_applied PRIMARY KEY (uid, manager), 
	CONSTRAINT fk_applied_uid FOREIGN KEY(uid) REFERENCES resources (uid) ON DELETE CASCADE
);
CREATE TABLE changes (
	revision INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	at DOUBLE NOT NULL, 
	type TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	project TEXT NOT NULL, 
	name TEXT NOT NULL, 
	uid TEXT NOT NULL, 
	document TEXT NOT NULL
);
INSERT INTO "changes" VALUES(1,1000.0,'ADDED','pool','','local','00000000-0000-4000-8000-000000000002','{"apiVersion":"rmctl/v1","kind":"pool","metadata":{"creationTimestamp":"1970-01-01T00:16:40Z","generation":1,"name":"local","resourceVersion":"0","uid":"00000000-0000-4000-8000-000000000002"},"spec":{"tiers":[{"kind":"local-servers","name":"local","scaleOut":"fixed"}]},"status":{"claimedCapacity":0.0,"conditions":[],"liveSpares":0,"nodeCount":0,"observedGeneration":0,"spareTarget":0,"tiers":[],"totalCapacity":0.0,"usedCapacityFraction":0.0,"waitingJobs":0}}');
INSERT INTO "changes" VALUES(2,1000.0,'ADDED','event','','local','00000000-0000-4000-8000-000000000002','{"count":1,"firstAt":"1970-01-01T00:16:40Z","for":"pool/local","kind":"pool","lastAt":"1970-01-01T00:16:40Z","message":"created","name":"local","payload":{},"severity":"Normal","type":"ResourceCreated"}');
INSERT INTO "changes" VALUES(3,1000.0,'ADDED','node','','n','00000000-0000-4000-8000-000000000003','{"apiVersion":"rmctl/v1","kind":"node","metadata":{"creationTimestamp":"1970-01-01T00:16:40Z","generation":1,"name":"n","resourceVersion":"0","uid":"00000000-0000-4000-8000-000000000003"},"spec":{"pool":"local"},"status":{"capabilities":[],"capacity":{},"conditions":[],"devicesWellSince":{},"givenUp":false,"gpus":[],"images":[],"jobs":[],"nics":[],"noSchedule":[],"observedGeneration":0,"phase":"prospective","ports":[],"rejections":[]}}');
INSERT INTO "changes" VALUES(4,1000.0,'ADDED','event','','n','00000000-0000-4000-8000-000000000003','{"count":1,"firstAt":"1970-01-01T00:16:40Z","for":"node/n","kind":"node","lastAt":"1970-01-01T00:16:40Z","message":"created","name":"n","payload":{},"severity":"Normal","type":"ResourceCreated"}');
INSERT INTO "changes" VALUES(5,1000.0,'ADDED','job','default','b.primary.web','00000000-0000-4000-8000-000000000004','{"apiVersion":"rmctl/v1","kind":"job","metadata":{"creationTimestamp":"1970-01-01T00:16:40Z","generation":1,"name":"b.primary.web","namespace":"default","resourceVersion":"0","uid":"00000000-0000-4000-8000-000000000004"},"spec":{"bundle":"b","command":["sleep","1000"],"index":0,"jobName":"web","pool":"local","requirements":{"onRuntimeFailure":"avoidSpare","requiredCapacity":1},"role":"primary"},"status":{"attempt":0,"conditions":[],"consecutiveFailures":0,"devices":[],"everRan":false,"extra":{},"historyGeneration":0,"observedGeneration":0,"owesRestart":false,"phase":"pending","plans":0,"ports":[],"restarts":{"at":[],"failed":0,"lastHour":0,"lost":0,"moved":0,"reclaimed":0},"runFingerprint":"","runGeneration":0}}');
INSERT INTO "changes" VALUES(6,1000.0,'ADDED','event','default','b.primary.web','00000000-0000-4000-8000-000000000004','{"count":1,"firstAt":"1970-01-01T00:16:40Z","for":"job/b/primary/web","kind":"job","lastAt":"1970-01-01T00:16:40Z","message":"created","name":"b.primary.web","payload":{},"severity":"Normal","type":"ResourceCreated"}');
INSERT INTO "changes" VALUES(7,1000.0,'ADDED','reservation','default','night','00000000-0000-4000-8000-000000000005','{"apiVersion":"rmctl/v1","kind":"reservation","metadata":{"creationTimestamp":"1970-01-01T00:16:40Z","generation":1,"name":"night","namespace":"default","resourceVersion":"0","uid":"00000000-0000-4000-8000-000000000005"},"spec":{"devices":[{"class":"gpu","count":1}],"holder":"bundle/train","pool":"local"},"status":{"allocations":[],"bookedGeneration":0,"conditions":[],"observedGeneration":0,"phase":"pending","victims":[]}}');
INSERT INTO "changes" VALUES(8,1000.0,'ADDED','event','default','night','00000000-0000-4000-8000-000000000005','{"count":1,"firstAt":"1970-01-01T00:16:40Z","for":"reservation/night","kind":"reservation","lastAt":"1970-01-01T00:16:40Z","message":"created","name":"night","payload":{},"severity":"Normal","type":"ResourceCreated"}');
INSERT INTO "changes" VALUES(9,1000.0,'ADDED','reservation','default','mine','00000000-0000-4000-8000-000000000006','{"apiVersion":"rmctl/v1","kind":"reservation","metadata":{"creationTimestamp":"1970-01-01T00:16:40Z","generation":1,"name":"mine","namespace":"default","resourceVersion":"0","uid":"00000000-0000-4000-8000-000000000006"},"spec":{"devices":[{"class":"gpu","count":1}],"holder":"b/primary/web","pool":"local"},"status":{"allocations":[],"bookedGeneration":0,"conditions":[],"observedGeneration":0,"phase":"pending","victims":[]}}');
INSERT INTO "changes" VALUES(10,1000.0,'ADDED','event','default','mine','00000000-0000-4000-8000-000000000006','{"count":1,"firstAt":"1970-01-01T00:16:40Z","for":"reservation/mine","kind":"reservation","lastAt":"1970-01-01T00:16:40Z","message":"created","name":"mine","payload":{},"severity":"Normal","type":"ResourceCreated"}');
INSERT INTO "changes" VALUES(11,1000.0,'ADDED','reservation','default','open','00000000-0000-4000-8000-000000000007','{"apiVersion":"rmctl/v1","kind":"reservation","metadata":{"creationTimestamp":"1970-01-01T00:16:40Z","generation":1,"name":"open","namespace":"default","resourceVersion":"0","uid":"00000000-0000-4000-8000-000000000007"},"spec":{"devices":[{"class":"gpu","count":1}],"pool":"local"},"status":{"allocations":[],"bookedGeneration":0,"conditions":[],"observedGeneration":0,"phase":"pending","victims":[]}}');
INSERT INTO "changes" VALUES(12,1000.0,'ADDED','event','default','open','00000000-0000-4000-8000-000000000007','{"count":1,"firstAt":"1970-01-01T00:16:40Z","for":"reservation/open","kind":"reservation","lastAt":"1970-01-01T00:16:40Z","message":"created","name":"open","payload":{},"severity":"Normal","type":"ResourceCreated"}');
CREATE TABLE credentials (
	hash TEXT NOT NULL, 
	purpose TEXT NOT NULL, 
	node TEXT NOT NULL, 
	pool TEXT, 
	labels TEXT NOT NULL, 
	created_at DOUBLE NOT NULL, 
	expires_at DOUBLE, 
	spent_at DOUBLE, 
	CONSTRAINT pk_credentials PRIMARY KEY (hash)
);
CREATE TABLE device_bookings (
	node TEXT NOT NULL, 
	device TEXT NOT NULL, 
	allocation TEXT NOT NULL, 
	units INTEGER NOT NULL, 
	starts_at DOUBLE NOT NULL, 
	ends_at DOUBLE, 
	CONSTRAINT pk_device_bookings PRIMARY KEY (node, device, allocation)
);
INSERT INTO "device_bookings" VALUES('n','g0','night-0',1000,2000000000.0,2000003600.0);
INSERT INTO "device_bookings" VALUES('n','g1','mine-0',1000,2000000000.0,2000003600.0);
CREATE TABLE devices (
	node TEXT NOT NULL, 
	id TEXT NOT NULL, 
	class TEXT NOT NULL, 
	attributes TEXT NOT NULL, 
	healthy INTEGER NOT NULL, 
	bookable INTEGER NOT NULL, position INTEGER DEFAULT '0' NOT NULL, numa INTEGER, parent TEXT, links TEXT DEFAULT '{}' NOT NULL, 
	CONSTRAINT pk_devices PRIMARY KEY (node, id)
);
INSERT INTO "devices" VALUES('n','g0','gpu','{"model":"\"A100\""}',1,1,0,0,NULL,'{"g1":"NV"}');
INSERT INTO "devices" VALUES('n','g1','gpu','{"model":"\"A100\""}',1,1,1,0,NULL,'{"g0":"NV"}');
CREATE TABLE effects (
	uid TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	owner_kind TEXT NOT NULL, 
	owner_project TEXT NOT NULL, 
	owner_name TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	provider TEXT NOT NULL, 
	target TEXT NOT NULL, 
	generation INTEGER NOT NULL, 
	fingerprint TEXT NOT NULL, 
	request TEXT NOT NULL, 
	state TEXT NOT NULL, 
	attempts INTEGER NOT NULL, 
	external_ref TEXT, 
	code TEXT, 
	error TEXT, 
	created_at DOUBLE NOT NULL, 
	started_at DOUBLE, 
	completed_at DOUBLE, 
	available_at DOUBLE NOT NULL, 
	cancelled INTEGER NOT NULL, 
	lease_generation BIGINT NOT NULL, 
	token_hash TEXT, 
	expires_at DOUBLE, 
	CONSTRAINT pk_effects PRIMARY KEY (uid, "key")
);
CREATE TABLE events (
	id INTEGER NOT NULL, 
	uid TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	project TEXT NOT NULL, 
	name TEXT NOT NULL, 
	type TEXT NOT NULL, 
	severity TEXT NOT NULL, 
	message TEXT NOT NULL, 
	payload TEXT NOT NULL, 
	count INTEGER NOT NULL, 
	first_at DOUBLE NOT NULL, 
	last_at DOUBLE NOT NULL, 
	revision BIGINT NOT NULL, 
	CONSTRAINT pk_events PRIMARY KEY (id)
);
INSERT INTO "events" VALUES(1,'00000000-0000-4000-8000-000000000002','pool','','local','ResourceCreated','Normal','created','{}',1,1000.0,1000.0,2);
INSERT INTO "events" VALUES(2,'00000000-0000-4000-8000-000000000003','node','','n','ResourceCreated','Normal','created','{}',1,1000.0,1000.0,4);
INSERT INTO "events" VALUES(3,'00000000-0000-4000-8000-000000000004','job','default','b.primary.web','ResourceCreated','Normal','created','{}',1,1000.0,1000.0,6);
INSERT INTO "events" VALUES(4,'00000000-0000-4000-8000-000000000005','reservation','default','night','ResourceCreated','Normal','created','{}',1,1000.0,1000.0,8);
INSERT INTO "events" VALUES(5,'00000000-0000-4000-8000-000000000006','reservation','default','mine','ResourceCreated','Normal','created','{}',1,1000.0,1000.0,10);
INSERT INTO "events" VALUES(6,'00000000-0000-4000-8000-000000000007','reservation','default','open','ResourceCreated','Normal','created','{}',1,1000.0,1000.0,12);
CREATE TABLE instances (
	uid TEXT NOT NULL, 
	id TEXT NOT NULL, 
	job TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	node TEXT NOT NULL, 
	attempt INTEGER NOT NULL, 
	state TEXT NOT NULL, 
	pid INTEGER, 
	ports TEXT NOT NULL, 
	code INTEGER, 
	signal INTEGER, 
	reason TEXT NOT NULL, 
	started_at DOUBLE, 
	ready_at DOUBLE, 
	at DOUBLE NOT NULL, 
	ran_seconds DOUBLE NOT NULL, 
	ready INTEGER NOT NULL, 
	not_ready_detail TEXT NOT NULL, 
	CONSTRAINT pk_instances PRIMARY KEY (uid, id)
);
CREATE TABLE labels (
	uid TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	value TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	CONSTRAINT pk_labels PRIMARY KEY (uid, "key"), 
	CONSTRAINT fk_labels_uid FOREIGN KEY(uid) REFERENCES resources (uid) ON DELETE CASCADE
);
CREATE TABLE log_tails (
	uid TEXT NOT NULL, 
	instance TEXT NOT NULL, 
	attempt INTEGER NOT NULL, 
	text BLOB NOT NULL, 
	truncated INTEGER NOT NULL, 
	at DOUBLE NOT NULL, 
	CONSTRAINT pk_log_tails PRIMARY KEY (uid, instance)
);
CREATE TABLE meta (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	CONSTRAINT pk_meta PRIMARY KEY (name)
);
INSERT INTO "meta" VALUES('store','00000000-0000-4000-8000-000000000001');
CREATE TABLE node_blocks (
	node TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	cause TEXT NOT NULL, 
	since DOUBLE NOT NULL, 
	CONSTRAINT pk_node_blocks PRIMARY KEY (node, reason, cause)
);
CREATE TABLE node_facts (
	node TEXT NOT NULL, 
	boot_id TEXT NOT NULL, 
	inventory TEXT NOT NULL, 
	last_heartbeat DOUBLE NOT NULL, 
	report_seq BIGINT NOT NULL, 
	connected INTEGER NOT NULL, 
	CONSTRAINT pk_node_facts PRIMARY KEY (node)
);
CREATE TABLE node_scalars (
	node TEXT NOT NULL, 
	resource TEXT NOT NULL, 
	total BIGINT NOT NULL, 
	capacity BIGINT NOT NULL, 
	allocated BIGINT NOT NULL, 
	CONSTRAINT pk_node_scalars PRIMARY KEY (node, resource)
);
INSERT INTO "node_scalars" VALUES('n','vcpu',8000,8000,1000);
CREATE TABLE pool_rollup (
	pool TEXT NOT NULL, 
	resource TEXT NOT NULL, 
	capacity BIGINT NOT NULL, 
	allocated BIGINT NOT NULL, 
	CONSTRAINT pk_pool_rollup PRIMARY KEY (pool, resource)
);
INSERT INTO "pool_rollup" VALUES('local','vcpu',8000,1000);
CREATE TABLE port_claims (
	node TEXT NOT NULL, 
	port TEXT NOT NULL, 
	allocation TEXT NOT NULL, 
	CONSTRAINT pk_port_claims PRIMARY KEY (node, port)
);
INSERT INTO "port_claims" VALUES('n','8001/tcp','j1');
CREATE TABLE queue (
	kind TEXT NOT NULL, 
	project TEXT NOT NULL, 
	name TEXT NOT NULL, 
	available_at DOUBLE NOT NULL, 
	enqueued_at DOUBLE NOT NULL, 
	wakes BIGINT NOT NULL, 
	errors INTEGER NOT NULL, 
	conflicts INTEGER NOT NULL, 
	lease_generation BIGINT NOT NULL, 
	claimed_wakes BIGINT, 
	token_hash TEXT, 
	expires_at DOUBLE, 
	last_run_at DOUBLE, lane INTEGER DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_queue PRIMARY KEY (kind, project, name)
);
INSERT INTO "queue" VALUES('pool','','local',1000.0,1000.0,1,0,0,0,NULL,NULL,NULL,NULL,0);
INSERT INTO "queue" VALUES('node','','n',1000.0,1000.0,1,0,0,0,NULL,NULL,NULL,NULL,0);
INSERT INTO "queue" VALUES('job','default','b.primary.web',1000.0,1000.0,1,0,0,0,NULL,NULL,NULL,NULL,0);
INSERT INTO "queue" VALUES('reservation','default','night',1000.0,1000.0,1,0,0,0,NULL,NULL,NULL,NULL,0);
INSERT INTO "queue" VALUES('reservation','default','mine',1000.0,1000.0,1,0,0,0,NULL,NULL,NULL,NULL,0);
INSERT INTO "queue" VALUES('reservation','default','open',1000.0,1000.0,1,0,0,0,NULL,NULL,NULL,NULL,0);
CREATE TABLE resources (
	uid TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	project TEXT NOT NULL, 
	name TEXT NOT NULL, 
	owner TEXT, 
	generation INTEGER NOT NULL, 
	resource_version BIGINT NOT NULL, 
	spec TEXT NOT NULL, 
	status TEXT NOT NULL, 
	labels TEXT NOT NULL, 
	annotations TEXT NOT NULL, 
	finalizers TEXT NOT NULL, 
	created_at DOUBLE NOT NULL, 
	deletion_timestamp DOUBLE, 
	checksum BIGINT NOT NULL, 
	CONSTRAINT pk_resources PRIMARY KEY (uid), 
	CONSTRAINT uq_resources_kind_project_name UNIQUE (kind, project, name)
);
INSERT INTO "resources" VALUES('00000000-0000-4000-8000-000000000002','pool','','local',NULL,1,1,'{"tiers":[{"kind":"local-servers","name":"local","scaleOut":"fixed"}]}','{"claimedCapacity":0.0,"conditions":[],"liveSpares":0,"nodeCount":0,"observedGeneration":0,"spareTarget":0,"tiers":[],"totalCapacity":0.0,"usedCapacityFraction":0.0,"waitingJobs":0}','{}','{}','[]',1000.0,NULL,2064623941);
INSERT INTO "resources" VALUES('00000000-0000-4000-8000-000000000003','node','','n',NULL,1,3,'{"pool":"local"}','{"capabilities":[],"capacity":{},"conditions":[],"devicesWellSince":{},"givenUp":false,"gpus":[],"images":[],"jobs":[],"nics":[],"noSchedule":[],"observedGeneration":0,"phase":"prospective","ports":[],"rejections":[]}','{}','{}','[]',1000.0,NULL,3766219432);
INSERT INTO "resources" VALUES('00000000-0000-4000-8000-000000000004','job','default','b.primary.web',NULL,1,5,'{"bundle":"b","command":["sleep","1000"],"index":0,"jobName":"web","pool":"local","requirements":{"onRuntimeFailure":"avoidSpare","requiredCapacity":1},"role":"primary"}','{"attempt":0,"conditions":[],"consecutiveFailures":0,"devices":[],"everRan":false,"extra":{},"historyGeneration":0,"observedGeneration":0,"owesRestart":false,"phase":"pending","plans":0,"ports":[],"restarts":{"at":[],"failed":0,"lastHour":0,"lost":0,"moved":0,"reclaimed":0},"runFingerprint":"","runGeneration":0}','{}','{}','[]',1000.0,NULL,3787872837);
INSERT INTO "resources" VALUES('00000000-0000-4000-8000-000000000005','reservation','default','night',NULL,1,7,'{"devices":[{"class":"gpu","count":1}],"holder":"bundle/train","pool":"local"}','{"allocations":[],"bookedGeneration":0,"conditions":[],"observedGeneration":0,"phase":"pending","victims":[]}','{}','{}','[]',1000.0,NULL,3222764524);
INSERT INTO "resources" VALUES('00000000-0000-4000-8000-000000000006','reservation','default','mine',NULL,1,9,'{"devices":[{"class":"gpu","count":1}],"holder":"b/primary/web","pool":"local"}','{"allocations":[],"bookedGeneration":0,"conditions":[],"observedGeneration":0,"phase":"pending","victims":[]}','{}','{}','[]',1000.0,NULL,1405522472);
INSERT INTO "resources" VALUES('00000000-0000-4000-8000-000000000007','reservation','default','open',NULL,1,11,'{"devices":[{"class":"gpu","count":1}],"pool":"local"}','{"allocations":[],"bookedGeneration":0,"conditions":[],"observedGeneration":0,"phase":"pending","victims":[]}','{}','{}','[]',1000.0,NULL,1117920255);
CREATE TABLE workflow_runs (
	run_id TEXT NOT NULL, 
	uid TEXT NOT NULL, 
	request_key TEXT NOT NULL, 
	attempt INTEGER NOT NULL, 
	owner_kind TEXT NOT NULL, 
	owner_project TEXT NOT NULL, 
	owner_name TEXT NOT NULL, 
	workflow TEXT NOT NULL, 
	fingerprint TEXT NOT NULL, 
	input TEXT NOT NULL, 
	state TEXT NOT NULL, 
	epoch INTEGER NOT NULL, 
	result TEXT, 
	error TEXT, 
	waits_for TEXT, 
	created_at DOUBLE NOT NULL, 
	completed_at DOUBLE, 
	CONSTRAINT pk_workflow_runs PRIMARY KEY (run_id), 
	CONSTRAINT uq_workflow_runs_uid_request_key_attempt UNIQUE (uid, request_key, attempt)
);
CREATE TABLE workflow_steps (
	run_id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	state TEXT NOT NULL, 
	manual INTEGER NOT NULL, 
	epoch INTEGER NOT NULL, 
	result TEXT, 
	error TEXT, 
	started_at DOUBLE NOT NULL, 
	ended_at DOUBLE, 
	CONSTRAINT pk_workflow_steps PRIMARY KEY (run_id, name)
);
CREATE INDEX ix_allocations_node ON allocations (node);
CREATE INDEX ix_allocations_pool ON allocations (pool);
CREATE INDEX ix_allocations_uid ON allocations (uid);
CREATE INDEX ix_credentials_node ON credentials (node);
CREATE INDEX ix_device_bookings_allocation ON device_bookings (allocation);
CREATE INDEX ix_effects_provider_state_available_at ON effects (provider, state, available_at);
CREATE INDEX ix_effects_target_state ON effects (target, state);
CREATE INDEX ix_events_kind_project_name ON events (kind, project, name);
CREATE INDEX ix_events_revision ON events (revision);
CREATE INDEX ix_events_uid ON events (uid);
CREATE INDEX ix_instances_node ON instances (node);
CREATE INDEX ix_port_claims_allocation ON port_claims (allocation);
CREATE INDEX ix_resources_owner ON resources (owner);
CREATE INDEX ix_labels_kind_key_value ON labels (kind, "key", value);
CREATE INDEX ix_queue_lane_available_at ON queue (lane, available_at);
CREATE INDEX ix_workflow_runs_state ON workflow_runs (state);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('changes',12);
COMMIT;
