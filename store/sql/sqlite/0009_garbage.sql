-- Contents are shared by the tenants of a database, so whether one is garbage is asked of
-- all of them. Here nothing keeps tenants from each other's rows but the queries.

-- +goose Up
UPDATE meta SET value = '9' WHERE tenant = 'local' AND key = 'schema';
PRAGMA user_version = 9;
