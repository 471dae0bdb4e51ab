import {formatDuration} from '#src/api/duration.js';
import type {Naming} from '#src/api/naming.js';
import {optionName, type FlagRow} from '#src/options/flag.js';
import {controllerManagerFlags, type ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import {configurationOf, type ConfigurationFields, type Controller} from '#src/runtime/controller.js';

const capitalised = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1);

const generic: ConfigurationFields = {
  Port: 'secure-port',
  Address: 'bind-address',
  MinResyncPeriod: 'min-resync-period',
  ClientConnection: {Kubeconfig: 'platconfig', ContentType: 'plat-api-content-type', QPS: 'plat-api-qps', Burst: 'plat-api-burst'},
  ControllerStartInterval: 'controller-start-interval',
  LeaderElection: {
    LeaderElect: 'leader-elect',
    LeaseDuration: 'leader-elect-lease-duration',
    RenewDeadline: 'leader-elect-renew-deadline',
    RetryPeriod: 'leader-elect-retry-period',
    ResourceLock: 'leader-elect-resource-lock',
    ResourceName: 'leader-elect-resource-name',
    ResourceNamespace: 'leader-elect-resource-namespace',
  },
  Controllers: 'controllers',
  Debugging: {EnableProfiling: 'profiling', EnableContentionProfiling: 'contention-profiling'},
  LeaderMigrationEnabled: 'enable-leader-migration',
  LeaderMigration: {ConfigFile: 'leader-migration-config'},
};

const cloudShared: ConfigurationFields = {
  CloudProvider: {Name: 'cloud-provider', CloudConfigFile: 'cloud-config'},
  ExternalCloudVolumePlugin: 'external-cloud-volume-plugin',
  UseServiceAccountCredentials: 'use-service-account-credentials',
  RouteReconciliationPeriod: 'route-reconciliation-period',
  NodeMonitorPeriod: 'node-monitor-period',
  ClusterName: 'cluster-name',
  ClusterCIDR: 'cluster-cidr',
  AllocateNodeCIDRs: 'allocate-node-cidrs',
  CIDRAllocatorType: 'cidr-allocator-type',
  ConfigureCloudRoutes: 'configure-cloud-routes',
};

/** Returns the sections of all controllers, as they declare them, in alphabetical order. */
const sectionsOf = (controllers: readonly Controller[], naming: Naming): ConfigurationFields => {
  const sections: [string, string | ConfigurationFields][] = [];
  for (const controller of controllers) sections.push(...Object.entries(configurationOf(controller, naming)));
  return Object.fromEntries(sections.sort(([one], [other]) => (one < other ? -1 : 1)));
};

const rows: Readonly<Record<string, FlagRow>> = controllerManagerFlags.rows;

const filled = (fields: ConfigurationFields, options: ControllerManagerOptions): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields).map(([field, from]) => [field, typeof from === 'string' ? valueOf(from, options) : filled(from, options)]),
  );

const valueOf = (flag: string, options: ControllerManagerOptions): unknown => {
  const value = (options as unknown as Readonly<Record<string, unknown>>)[optionName(flag)];
  return rows[flag]?.type === 'duration' ? formatDuration(value as number) : value;
};

/** The effective configuration for `/configz`: grouped as upstream, with durations as text. */
export const configuration = (
  controllers: readonly Controller[],
  options: ControllerManagerOptions,
  naming: Naming,
): Readonly<Record<string, unknown>> => ({
  [`${naming.prefix}controllermanager.${naming.group('config')}`]: {
    Generic: filled(generic, options),
    [`${capitalised(naming.prefix)}CloudShared`]: filled(cloudShared, options),
    ...filled(sectionsOf(controllers, naming), options),
  },
});
