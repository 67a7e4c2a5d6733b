package forwardlineage

import org.apache.spark.sql.connect.forwardlineage.RequestPlugin

/** For servers: spark.connect.extensions.relation.classes=forwardlineage.ConnectRequests. */
final class ConnectRequests extends RequestPlugin
