// What the configuration means for the rules.

import type {Settings} from '#src/proxy/configuration/fields.js';
import {sectionOf} from '#src/proxy/configuration/settings.js';
import {clusterCidrsOf} from '#src/proxy/configuration/validate.js';
import {systemKernel} from '#src/proxy/kernel/system-kernel.js';
import {prepareMode, type PreparedMode} from '#src/proxy/modes/prepare.js';
import type {SyncPeriods} from '#src/proxy/mode/settings.js';
import type {ResolvedSettings, RuleConfiguration} from '#src/proxy/node/rule-settings.js';
import type {ProxyInvocation} from './configuration.js';
import type {Opened} from './open.js';

/** Returns the fields that the rules follow from. */
export const ruleConfiguration = (settings: Settings, nodeName: string): RuleConfiguration => {
  const section = sectionOf(settings);
  return {
    nodeName,
    bindAddress: settings.bindAddress,
    masqueradeAll: settings[`${section}.masqueradeAll`],
    masqueradeBit: settings[`${section}.masqueradeBit`],
    detectLocalMode: settings.detectLocalMode as RuleConfiguration['detectLocalMode'],
    clusterCidrs: clusterCidrsOf(settings),
    bridgeInterface: settings['detectLocal.bridgeInterface'],
    interfaceNamePrefix: settings['detectLocal.interfaceNamePrefix'],
    nodePortAddresses: settings.nodePortAddresses,
    healthzBindAddress: settings.healthzBindAddress,
    metricsBindAddress: settings.metricsBindAddress,
  };
};

/** Returns how often to sync, in the mode in use. */
export const periodsOf = (settings: Settings): SyncPeriods => {
  const section = sectionOf(settings);
  return {syncPeriodMs: settings[`${section}.syncPeriod`], minSyncPeriodMs: settings[`${section}.minSyncPeriod`]};
};

/** Prepares the kernel for the mode. */
export const prepare = (
  {parsed: {settings}, clock, log}: ProxyInvocation,
  {mode, connection, metrics}: Opened,
  {rules, families}: ResolvedSettings,
): Promise<PreparedMode> =>
  prepareMode(
    {
      mode,
      kernel: systemKernel,
      periods: periodsOf(settings),
      localhostNodePorts: settings['iptables.localhostNodePorts'],
      naming: connection.naming,
      environment: process.env,
      clock,
      log,
      meter: metrics,
    },
    rules.nodePortAddresses,
    families,
  );
