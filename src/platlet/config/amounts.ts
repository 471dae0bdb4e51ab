// Quantities in a configuration: reservations and eviction thresholds. Invalid ones end the start one at a time, with
// the original's messages.

import type {Naming} from '#src/api/naming.js';
import {compareQuantities, parseQuantity, zeroQuantity} from '#src/api/quantity.js';
import {messageOf} from '#src/base/message.js';
import {thresholdsOf} from '#src/platlet/eviction/thresholds.js';
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

const evictionError = (settings: Settings): string | undefined => {
  try {
    thresholdsOf(settings);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
};

const prefixed = (flag: string, error: string | undefined): string | undefined =>
  error === undefined ? undefined : `--${flag} value failed to parse: ${error}`;

/** Returns the first error in the quantities of a configuration; undefined if there is none. */
export const amountsError = (settings: Settings, naming: Naming, gate: (name: 'QOSReserved') => boolean): string | undefined =>
  prefixed(naming.component('reserved'), reservationError(settings.kubeReserved)) ??
  prefixed('system-reserved', reservationError(settings.systemReserved)) ??
  evictionError(settings) ??
  (gate('QOSReserved') ? prefixed('qos-reserved', qosReservationError(settings.qosReserved)) : undefined);
