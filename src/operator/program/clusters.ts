// The other clusters of a program, by a flag.

/** A cluster, by its name and where its settings are. */
export interface ClusterSetting {
  readonly name: string;
  /** Empty: the file of the program's own cluster. */
  readonly kubeconfig: string;
  /** Empty: the current context of the file. */
  readonly context: string;
}

/** Parses `NAME=[KUBECONFIG][@CONTEXT]`; undefined for other text. Contexts may contain further `@`. */
export const parseCluster = (text: string): ClusterSetting | undefined => {
  const equals = text.indexOf('=');
  const name = text.slice(0, Math.max(0, equals));
  const place = text.slice(equals + 1);
  const at = place.indexOf('@');
  const kubeconfig = at < 0 ? place : place.slice(0, at);
  const context = at < 0 ? '' : place.slice(at + 1);
  return name && (kubeconfig || context) ? {name, kubeconfig, context} : undefined;
};

/** Returns what is wrong with the values of the flag; undefined if nothing is. */
export const clustersError = (texts: readonly string[]): string | undefined => {
  const names = new Set<string>();
  for (const text of texts) {
    const cluster = parseCluster(text);
    if (!cluster) return `"${text}" is not NAME=KUBECONFIG, NAME=KUBECONFIG@CONTEXT or NAME=@CONTEXT`;
    if (names.has(cluster.name)) return `there are two clusters named "${cluster.name}"`;
    names.add(cluster.name);
  }
  return undefined;
};
