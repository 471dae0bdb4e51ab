import {useEffect, useState} from 'preact/hooks';

/** Returns a duration in the short form of kubectl: 45s, 5m30s, 3h, 2d. */
export const shortDuration = (ms: number): string => {
  const seconds = Math.floor(Math.max(0, ms) / 1000);
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return seconds % 60 ? `${minutes}m${seconds % 60}s` : `${minutes}m`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return minutes % 60 ? `${hours}h${minutes % 60}m` : `${hours}h`;
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  return days < 730 ? `${days}d` : `${Math.floor(days / 365)}y`;
};

/** Returns a time of the day, with the date unless it is today's. */
export const moment = (ms: number, now: number): string => {
  const [date = '', time = ''] = new Date(ms).toISOString().split('T');
  const isToday = new Date(now).toISOString().startsWith(date);
  return `${isToday ? '' : `${date} `}${time.slice(0, 8)}`;
};

export const seconds = (value: number): string => {
  if (!Number.isFinite(value)) return '–';
  if (value < 0.001) return `${Math.round(value * 1e6)} µs`;
  if (value < 0.01) return `${(value * 1000).toFixed(1).replace(/\.0$/, '')} ms`;
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} s`;
};

export const bytes = (value: number): string => {
  if (!Number.isFinite(value)) return '–';
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let at = 0;
  for (; value >= 1000 && at < units.length - 1; at++) value /= 1000;
  return `${value < 10 && at > 0 ? value.toFixed(1) : Math.round(value)} ${units[at]}`;
};

export const rate = (value: number): string => (value < 10 ? value.toFixed(1) : Math.round(value).toString());

/** Counts the seconds, so that ages grow while they are shown. */
export const useNow = (everyMs = 1000): number => {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
};
