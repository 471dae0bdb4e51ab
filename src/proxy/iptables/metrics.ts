import type {Naming} from '#src/api/naming.js';
import type {Counter, Gauge, Meter} from '#src/base/meter.js';

/** The metrics of the mode iptables, by the names of the original. */
export interface IptablesMetrics {
  readonly restoreFailures: Counter;
  readonly partialRestoreFailures: Counter;
  readonly rules: Gauge;
  readonly rulesOfLastSync: Gauge;
}

export const iptablesMetrics = (meter: Meter, naming: Naming): IptablesMetrics => {
  const own = naming.component('proxy');
  const named = (name: string, help: string, labels: readonly string[]) => ({
    name: `kubeproxy_sync_proxy_rules_iptables_${name}`,
    help,
    labels,
  });
  const byFamily = ['ip_family'];
  const byTable = ['table', 'ip_family'];
  return {
    restoreFailures: meter.counter(named('restore_failures_total', 'Cumulative proxy iptables restore failures', byFamily)),
    partialRestoreFailures: meter.counter(
      named('partial_restore_failures_total', 'Cumulative proxy iptables partial restore failures', byFamily),
    ),
    rules: meter.gauge(named('total', `Total number of iptables rules owned by ${own}`, byTable)),
    rulesOfLastSync: meter.gauge(named('last', `Number of iptables rules written by ${own} in last sync`, byTable)),
  };
};
