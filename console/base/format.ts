import {useEffect, useState} from 'preact/hooks';
import {useCell} from './cell.js';
import {moment} from './moment.js';
import {clusterNow, virtualNow} from './now.js';

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

export const seconds = (value: number): string => {
  if (!Number.isFinite(value)) return '–';
  if (value < 0.5e-6) return '0';
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

/** The time that ages are counted to: that of the page, or the moment that it shows. */
export const useNow = (everyMs = 1000): number => {
  const shown = useCell(moment);
  const still = useCell(virtualNow);
  const [now, setNow] = useState(clusterNow);
  useEffect(() => {
    const timer = setInterval(() => setNow(clusterNow()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return shown?.time ?? still ?? now;
};
