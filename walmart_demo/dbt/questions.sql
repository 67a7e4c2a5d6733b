-- Forward: which rows of the last model were made of the training item's record?
SELECT city, category_nbr, amount FROM city_categories WHERE dl_contains(DL.`walmart.item_description`, 126042);

-- Backward: of which scans, which visits, which stores was the first of them made?
CREATE TEMPORARY VIEW strange AS
SELECT * FROM city_categories WHERE dl_contains(DL.`walmart.item_description`, 126042) ORDER BY city, category_nbr LIMIT 1;

SELECT dl_size(DL.`walmart.item_scan`) AS scans, dl_size(DL.`walmart.store_visits`) AS visits, dl_ids(DL.`walmart.store_information`) AS stores FROM strange;

-- The scans themselves: rows that are known by their place, with their ids.
CREATE TEMPORARY VIEW known_scans AS SELECT * FROM walmart.item_scan WITH LINEAGE;
SELECT s.visit_nbr, s.item_nbr, s.total_scan_amount
FROM known_scans AS s JOIN strange AS r ON dl_intersects(s.DL.`walmart.item_scan`, r.DL.`walmart.item_scan`)
WHERE s.item_nbr = 126042;
