// The other clusters of a program, by a flag.

import {isName} from '#src/operator/names.js';
import type {OperatorController} from '#src/operator/controller.js';
import {clusterOf} from '#src/operator/sources.js';

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
  return isName(name) && (kubeconfig || context) ? {name, kubeconfig, context} : undefined;
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

/** Throws an error of one line if a controller watches a cluster that is not given. */
export const checkClusters = (controllers: readonly OperatorController[], given: readonly ClusterSetting[]): void => {
  for (const {name, sources} of controllers) {
    const missing = sources.map(clusterOf).find(cluster => cluster !== undefined && !given.some(each => each.name === cluster));
    if (missing !== undefined) throw new Error(`controller ${name} watches the cluster "${missing}": give --cluster=${missing}=KUBECONFIG`);
  }
};
