// Quantities in a configuration: reservations and eviction thresholds. Invalid ones end the start one at a time, with
// the original's messages.

import {parseDuration} from '#src/api/duration.js';
import type {Naming} from '#src/api/naming.js';
import {compareQuantities, formatQuantity, parseQuantity, zeroQuantity} from '#src/api/quantity.js';
import {messageOf} from '#src/base/message.js';
import type {Settings} from './fields.js';

type Amounts = Readonly<Record<string, string>>;

const q = (text: string): string => JSON.stringify(text);

const reservable: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage', 'pid']);

const reservationError = (amounts: Amounts): string | undefined => {
  for (const [name, text] of Object.entries(amounts)) {
    if (!reservable.has(name)) return `cannot reserve ${q(name)} resource`;
    try {
      if (compareQuantities(parseQuantity(text), zeroQuantity) < 0) return `resource quantity for ${q(name)} cannot be negative: ${text}`;
    } catch (error) {
      return `failed to parse quantity ${q(text)} for ${q(name)} resource: ${messageOf(error)}`;
    }
  }
  return undefined;
};

const qosReservationError = (amounts: Amounts): string | undefined => {
  for (const [name, text] of Object.entries(amounts)) {
    if (name !== 'memory') return `cannot reserve ${q(name)} resource`;
    const percent = Number(/^([+-]?\d+)%$/.exec(text)?.[1] ?? Number.NaN);
    const wrong = !text.endsWith('%')
      ? `percentage expected, got '${text}'`
      : Number.isNaN(percent)
        ? `failed to convert number in percentage '${text}'`
        : percent < 0 || percent > 100
          ? `only percentage between 0 and 100 is valid. got '${percent}'`
          : undefined;
    if (wrong !== undefined) return `failed to parse percentage ${q(text)} for ${q(name)} resource: ${wrong}`;
  }
  return undefined;
};

const evictionSignals: ReadonlySet<string> = new Set([
  'memory.available',
  'allocatableMemory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'imagefs.available',
  'imagefs.inodesFree',
  'containerfs.available',
  'containerfs.inodesFree',
  'pid.available',
]);

const unsupported = (amounts: Amounts): string | undefined => {
  const found = Object.keys(amounts).find(signal => !evictionSignals.has(signal));
  return found === undefined ? undefined : `unsupported eviction signal ${found}`;
};

const percentOf = (text: string): number => (/^[+-]?(?:\d+(?:\.\d*)?|\.\d+)%$/.test(text) ? Number(text.slice(0, -1)) : Number.NaN);

const notANumber = (text: string): string => `strconv.ParseFloat: parsing ${q(text.slice(0, -1))}: invalid syntax`;

/** Whether an eviction threshold is disabled: the original drops these two. */
export const isNoThreshold = (text: string): boolean => text === '0%' || text === '100%';

const thresholdError = (signal: string, text: string): string | undefined => {
  if (isNoThreshold(text)) return undefined;
  if (text.endsWith('%')) {
    const percent = percentOf(text);
    if (Number.isNaN(percent)) return notANumber(text);
    if (percent < 0) return `eviction percentage threshold ${signal} must be >= 0%: ${text}`;
    return percent > 100 ? `eviction percentage threshold ${signal} must be <= 100%: ${text}` : undefined;
  }
  try {
    const quantity = parseQuantity(text);
    return compareQuantities(quantity, zeroQuantity) > 0
      ? undefined
      : `eviction threshold ${signal} must be positive: ${formatQuantity(quantity)}`;
  } catch (error) {
    return messageOf(error);
  }
};

const reclaimError = (signal: string, text: string): string | undefined => {
  if (text.endsWith('%')) {
    const percent = percentOf(text);
    if (Number.isNaN(percent)) return notANumber(text);
    return percent <= 0 ? `eviction percentage minimum reclaim ${signal} must be positive: ${text}` : undefined;
  }
  try {
    return compareQuantities(parseQuantity(text), zeroQuantity) < 0
      ? `negative eviction minimum reclaim specified for ${signal}`
      : undefined;
  } catch (error) {
    return messageOf(error);
  }
};

const firstOf = (amounts: Amounts, check: (name: string, text: string) => string | undefined): string | undefined => {
  for (const [name, text] of Object.entries(amounts)) {
    const error = check(name, text);
    if (error !== undefined) return error;
  }
  return undefined;
};

const graceError = (_: string, text: string): string | undefined => {
  const ms = parseDuration(text);
  if (ms === undefined) return `time: invalid duration ${q(text)}`;
  return ms < 0 ? `invalid eviction grace period specified: ${text}, must be a positive value` : undefined;
};

const evictionError = ({evictionHard, evictionSoft, evictionSoftGracePeriod, evictionMinimumReclaim}: Settings): string | undefined => {
  const withoutGrace = Object.keys(evictionSoft).find(
    signal => !isNoThreshold(evictionSoft[signal]!) && !(signal in evictionSoftGracePeriod),
  );
  return (
    unsupported(evictionHard) ??
    firstOf(evictionHard, thresholdError) ??
    unsupported(evictionSoft) ??
    firstOf(evictionSoft, thresholdError) ??
    unsupported(evictionSoftGracePeriod) ??
    firstOf(evictionSoftGracePeriod, graceError) ??
    unsupported(evictionMinimumReclaim) ??
    firstOf(evictionMinimumReclaim, reclaimError) ??
    (withoutGrace === undefined ? undefined : `grace period must be specified for the soft eviction threshold ${withoutGrace}`)
  );
};

const prefixed = (flag: string, error: string | undefined): string | undefined =>
  error === undefined ? undefined : `--${flag} value failed to parse: ${error}`;

/** Returns the first error in the quantities of a configuration; undefined if there is none. */
export const amountsError = (settings: Settings, naming: Naming, gate: (name: 'QOSReserved') => boolean): string | undefined =>
  prefixed(naming.component('reserved'), reservationError(settings.kubeReserved)) ??
  prefixed('system-reserved', reservationError(settings.systemReserved)) ??
  evictionError(settings) ??
  (gate('QOSReserved') ? prefixed('qos-reserved', qosReservationError(settings.qosReserved)) : undefined);
