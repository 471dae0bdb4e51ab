import type {Frozen} from '#src/api/key.js';
import type {ContainerStats} from '#src/api/node/stats.js';
import type {AnyContainer} from '#src/api/pod.js';
import {parseQuantity, quantityNumber} from '#src/api/quantity.js';

/** Returns a quantity as a number; undefined if absent. */
export const amountOf = (amounts: Readonly<Record<string, string>> | undefined, name: string): number | undefined => {
  const text = amounts?.[name];
  return text === undefined ? undefined : quantityNumber(parseQuantity(text));
};

/** Returns the requests and the limits of a container for statistics. */
export const limitsOf = ({
  resources,
}: Frozen<AnyContainer>): Pick<ContainerStats, 'cpuRequestMillis' | 'cpuLimitMillis' | 'memoryLimitBytes'> => {
  const [request, cpu, memory] = [
    amountOf(resources?.requests, 'cpu'),
    amountOf(resources?.limits, 'cpu'),
    amountOf(resources?.limits, 'memory'),
  ];
  return {
    ...(request === undefined ? {} : {cpuRequestMillis: request * 1000}),
    ...(cpu === undefined ? {} : {cpuLimitMillis: cpu * 1000}),
    ...(memory === undefined ? {} : {memoryLimitBytes: memory}),
  };
};
