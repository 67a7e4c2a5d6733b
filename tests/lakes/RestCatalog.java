import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/** Iceberg's REST catalog for its tests, on the loopback interface alone; its own `main` listens on all of them. */
class RestCatalog {
  public static void main(String[] arguments) throws Exception {
    var settings = Map.of("type", "jdbc", "uri", arguments[1], "warehouse", arguments[2]);
    var catalog = CatalogUtil.buildIcebergCatalog("served", settings, new Configuration());
    var pages = new ServletContextHandler();
    pages.addServlet(new ServletHolder(new RESTCatalogServlet(new RESTCatalogAdapter(catalog))), "/*");
    var server = new Server(new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(arguments[0])));
    server.setHandler(pages);
    server.start();
    server.join();
  }
}
