CREATE DATABASE IF NOT EXISTS walmart;
CREATE TABLE IF NOT EXISTS walmart.item_scan USING parquet LOCATION '${system:user.dir}/data/item_scan.parquet';
CREATE TABLE IF NOT EXISTS walmart.item_description USING parquet LOCATION '${system:user.dir}/data/item_description.parquet';
CREATE TABLE IF NOT EXISTS walmart.store_visits USING parquet LOCATION '${system:user.dir}/data/store_visits.parquet';
CREATE TABLE IF NOT EXISTS walmart.store_information USING parquet LOCATION '${system:user.dir}/data/store_information.parquet';
