import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.conf.HiveConf.ConfVars;
import org.apache.hadoop.hive.metastore.HiveMetaStore.HMSHandler;
import org.apache.hadoop.hive.metastore.RetryingHMSHandler;
import org.apache.hadoop.hive.metastore.TSetIpAddressProcessor;
import org.apache.hadoop.hive.metastore.txn.TxnDbUtil;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.transport.TServerSocket;

/** Hive's metastore over a Derby of its own, on the loopback interface alone; its own `main` listens on all of them. */
class HiveMetastore {
  public static void main(String[] arguments) throws Exception {
    var conf = new HiveConf();
    conf.setVar(ConfVars.METASTORECONNECTURLKEY, "jdbc:derby:;databaseName=" + arguments[1] + ";create=true");
    conf.setVar(ConfVars.METASTOREWAREHOUSE, arguments[2]);
    conf.setBoolVar(ConfVars.METASTORE_AUTO_CREATE_ALL, true);
    conf.setBoolVar(ConfVars.METASTORE_SCHEMA_VERIFICATION, false);
    conf.setVar(ConfVars.METASTORE_CONNECTION_POOLING_TYPE, "none"); // the other ones are not among Spark's jars
    TxnDbUtil.prepDb(conf); // the tables of locks, which Iceberg takes; they are not among those that are created
    var handler = RetryingHMSHandler.getProxy(conf, new HMSHandler("served", conf, false), false);
    var address = new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(arguments[0]));
    var settings = new TThreadPoolServer.Args(new TServerSocket(address));
    new TThreadPoolServer(settings.processor(new TSetIpAddressProcessor<>(handler))).serve();
  }
}
