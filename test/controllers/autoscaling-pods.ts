export const now = Date.parse('2026-01-01T01:00:00Z');
export const second = 1000;
