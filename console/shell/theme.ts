// Dark and light: as the system has it, unless the reader has chosen.

import {Cell} from '#page/base/cell.js';

export type Theme = 'system' | 'light' | 'dark';

const stored = localStorage.getItem('theme');

export const theme = new Cell<Theme>(stored === 'light' || stored === 'dark' ? stored : 'system');

const apply = (): void => {
  const {value} = theme;
  const isDark = value === 'dark' || (value === 'system' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset['theme'] = isDark ? 'dark' : 'light';
};

export const beginTheme = (): void => {
  apply();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', apply);
};

/** Goes on to the next of system, light and dark. */
export const nextTheme = (): void => {
  const next = {system: 'light', light: 'dark', dark: 'system'} as const;
  theme.set(next[theme.value]);
  if (theme.value === 'system') localStorage.removeItem('theme');
  else localStorage.setItem('theme', theme.value);
  apply();
};
