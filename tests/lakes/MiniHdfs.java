import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** Hadoop's own HDFS for tests, with one node, on the loopback interface: prints its address, and ends when nobody listens. */
class MiniHdfs {
  public static void main(String[] arguments) throws Exception {
    var settings = new Configuration();
    settings.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, new File(arguments[0]).getAbsolutePath());
    var cluster = new MiniDFSCluster.Builder(settings).numDataNodes(1).format(true).build();
    cluster.waitActive();
    var files = cluster.getFileSystem();
    files.mkdirs(new Path("/lake"));
    files.setPermission(new Path("/lake"), new FsPermission("777"));
    System.out.println(files.getUri());
    System.out.flush();
    while (System.in.read() >= 0) {}
    cluster.shutdown();
    System.exit(0);
  }
}
