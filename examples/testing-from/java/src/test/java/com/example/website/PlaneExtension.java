package com.example.website;

import static java.util.Comparator.reverseOrder;

import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/** Gives tests a client of one plane, which starts with the first of them and stops after the last. */
public final class PlaneExtension implements ParameterResolver {
  record Plane(Process program, Path folder, KubernetesClient client) implements AutoCloseable {
    static Plane start() {
      try {
        Path folder = Files.createTempDirectory("plane");
        String plat = System.getenv().getOrDefault("PLAT", "plat");
        ProcessBuilder builder = new ProcessBuilder(
            plat, "up", "-o", "json", "--quiet", "--config=../plane.yaml", "--secure-port=0", "--data-dir=" + folder);
        builder.environment().put("PLAT_HOME", folder.toString());
        Process program = builder.redirectError(ProcessBuilder.Redirect.INHERIT).start();
        Runtime.getRuntime().addShutdownHook(new Thread(program::destroy));
        if (program.inputReader().readLine() == null) throw new IOException("the plane did not start");
        Config config = Config.fromKubeconfig(folder.resolve("kubeconfig").toFile());
        return new Plane(program, folder, new KubernetesClientBuilder().withConfig(config).build());
      } catch (IOException failed) {
        throw new IllegalStateException(failed);
      }
    }

    @Override
    public void close() throws Exception {
      client.close();
      program.destroy();
      program.waitFor();
      try (var files = Files.walk(folder)) {
        files.sorted(reverseOrder()).map(Path::toFile).forEach(File::delete);
      }
    }
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.getParameter().getType() == KubernetesClient.class;
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    var store = context.getRoot().getStore(ExtensionContext.Namespace.GLOBAL);
    return store.getOrComputeIfAbsent("plane", key -> Plane.start(), Plane.class).client();
  }
}
