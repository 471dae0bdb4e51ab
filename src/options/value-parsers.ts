import {isIP} from 'node:net';

/** A taint as given to `--register-with-taints`. */
export interface Taint {
  readonly key: string;
  readonly value: string;
  readonly effect: string;
}

/** Splits a comma-separated list. Items in double quotes may contain commas; two quotes stand for one. */
export const commaSeparated = (text: string): readonly string[] => {
  if (text === '') return [];
  if (!text.includes('"')) return text.split(',').map(item => item.trim());
  const items: string[] = [];
  let at = 0;
  while (at <= text.length) {
    const [whole, quoted, plain] = /^(?:"((?:[^"]|"")*)"|([^",]*))(?=,|$)/.exec(text.slice(at)) ?? [];
    if (whole === undefined) throw new Error('has a stray quote');
    items.push(quoted === undefined ? plain!.trim() : quoted.replaceAll('""', '"'));
    at += whole.length + 1;
  }
  return items;
};

/** Whether the text is a CIDR range. */
export const isCidr = (text: string): boolean => {
  const [address = '', bits = '', ...more] = text.split('/');
  const family = isIP(address);
  return family > 0 && more.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
};

const quantityUnits: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** Parses a resource quantity (`10Mi`, `1.5k`, `2e3`); undefined for other texts. */
export const parseQuantity = (text: string): number | undefined => {
  const [, amount, exponent, unit = ''] =
    /^([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:([eE][+-]?\d+)|(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei))?$/.exec(text) ?? [];
  return amount === undefined ? undefined : Number(`${amount}${exponent ?? ''}`) * quantityUnits[unit]!;
};

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** Parses `<key>=<value>:<effect>` or `<key>:<effect>`. */
export const parseTaint = (text: string): Taint => {
  const [, key, value = '', effect = ''] = /^([^=:]+)(?:=([^:]*))?:([^:]*)$/.exec(text) ?? [];
  if (key === undefined) throw new Error(`"${text}" must be formatted as key=value:effect`);
  if (!effects.includes(effect)) throw new Error(`"${text}" has an unknown effect; must be one of ${effects.join(', ')}`);
  return {key, value, effect};
};
