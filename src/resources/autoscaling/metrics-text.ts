import type {Autoscaler, MetricSpec} from './metrics.js';

type MetricStatus = NonNullable<NonNullable<Autoscaler['status']>['currentMetrics']>[number];

const unknown = '<unknown>';
const maxShown = 2;

interface Amount {
  readonly value?: string;
  readonly averageValue?: string;
  readonly averageUtilization?: number;
}

const share = (name: string, target: Amount, current: Amount | undefined): string => {
  if (target.averageValue !== undefined) return `${name}: ${current ? (current.averageValue ?? '0') : unknown}/${target.averageValue}`;
  const percent = (amount: number | undefined, otherwise: string): string => (amount === undefined ? otherwise : `${amount}%`);
  return `${name}: ${percent(current?.averageUtilization, unknown)}/${percent(target.averageUtilization, '<auto>')}`;
};

const measured = (target: Amount, current: Amount | undefined): string =>
  target.averageValue === undefined
    ? `${current ? (current.value ?? '0') : unknown}/${target.value ?? '0'}`
    : `${current?.averageValue ?? unknown}/${target.averageValue} (avg)`;

const metricText = (spec: MetricSpec, status: MetricStatus | undefined): string => {
  switch (spec.type) {
    case 'External':
      return measured(spec.external?.target ?? {}, status?.external?.current);
    case 'Object':
      return measured(spec.object?.target ?? {}, status?.object?.current);
    case 'Pods':
      return `${status?.pods ? (status.pods.current.averageValue ?? '0') : unknown}/${spec.pods?.target.averageValue ?? '0'}`;
    case 'Resource':
      return share(spec.resource?.name ?? '', spec.resource?.target ?? {}, status?.resource?.current);
    case 'ContainerResource':
      return share(spec.containerResource?.name ?? '', spec.containerResource?.target ?? {}, status?.containerResource?.current);
    default:
      return '<unknown type>';
  }
};

/** Formats current and target values for tables: the first two in full. */
export const metricsText = (specs: readonly MetricSpec[], statuses: readonly MetricStatus[]): string => {
  if (specs.length === 0) return '<none>';
  const texts = specs.map((spec, i) => metricText(spec, statuses[i]));
  const shown = texts.slice(0, maxShown).join(', ');
  return texts.length > maxShown ? `${shown} + ${texts.length - maxShown} more...` : shown;
};
