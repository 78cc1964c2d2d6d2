//! Which facet a point belongs to.

use super::Quickhull;
use super::chain::END;
use super::parts::push_before_last;
use super::plane::dot;

/// A point this many times higher than merges explain, over a facet that it was coplanar with, is outside.
const FAR_OUTSIDE: f64 = 30.0;

/// The best facet of a point.
#[derive(Clone, Copy, Debug)]
struct Best {
    facet: usize,
    height: f64,
    is_outside: bool,
}

impl Quickhull<'_> {
    /// Height from which a point is clearly outside.
    pub(super) fn clearly_outside(&self) -> f64 {
        let clear = (2.0 * self.tolerances.outside).max(self.max_outside);
        if self.has_many_merges() {
            2.0 * clear
        } else {
            clear
        }
    }

    /// Gives a point to the facet that it is outside of, if there is one; the search starts at a new facet.
    pub(super) fn partition_point(&mut self, point: usize, start: usize) -> Option<()> {
        let mut best = if self.searches_all_new {
            self.best_new(point, start, false)
        } else {
            self.best_from(point, start, false, true)?
        };
        if self.is_thin && best.height >= -self.tolerances.near_inside {
            best.is_outside = true;
        }
        if best.is_outside {
            self.add_outside(point, best);
        } else if best.height >= -self.tolerances.near_inside {
            self.keep_coplanar(point, best.facet, best.facet, best.height, true)?;
        }
        Some(())
    }

    fn add_outside(&mut self, point: usize, best: Best) {
        let outside = self.tolerances.outside;
        let facet = &mut self.facets[best.facet];
        let mut has_work = false;
        if facet.outside.is_empty() {
            facet.outside.push(point);
            has_work = !self.is_thin || best.height > outside;
            facet.farthest = best.height;
        } else if facet.farthest < best.height {
            facet.outside.push(point);
            has_work = self.is_thin && facet.farthest < outside && best.height >= outside;
            facet.farthest = best.height;
        } else {
            push_before_last(&mut facet.outside, point);
        }
        if has_work && self.next_facet != best.facet {
            if self.facets[best.facet].is_new {
                if self.facets[self.next_facet].is_new {
                    self.next_facet = self.first_new.unwrap_or(END);
                }
            } else {
                self.move_to_end(best.facet);
                if self.first_new.is_some() {
                    self.facets[best.facet].is_new = true;
                }
            }
        }
    }

    /// Gives a point that is in the hull, up to rounding, to its nearest facet.
    pub(super) fn partition_coplanar(
        &mut self,
        point: usize,
        start: usize,
        searches_all_new: bool,
    ) -> Option<()> {
        let best = if searches_all_new {
            self.best_new(point, start, true)
        } else {
            self.best_from(point, start, true, false)?
        };
        if best.height < -self.tolerances.near_inside {
            return Some(());
        }
        self.keep_coplanar(point, start, best.facet, best.height, false)
    }

    /// Adds a point to the coplanar ones of a facet, or to those outside if it is too high.
    fn keep_coplanar(
        &mut self,
        point: usize,
        start: usize,
        facet: usize,
        height: f64,
        is_known: bool,
    ) -> Option<()> {
        if height > self.max_outside {
            let is_opposite = !is_known && start != facet && {
                let normals = [start, facet].map(|facet| self.facets[facet].normal);
                dot(normals[0]?, normals[1]?) < 0.0
            };
            if is_opposite || height > self.max_outside_limit * FAR_OUTSIDE {
                let searched_all_new = std::mem::replace(&mut self.searches_all_new, false);
                // A point that is sent back to the same facet would come again.
                if !is_opposite && start == facet && is_known {
                    return None;
                }
                self.partition_point(point, facet)?;
                self.searches_all_new = searched_all_new;
                return Some(());
            }
            self.max_outside = height;
        }
        let last = self.facets[facet].coplanar.last();
        let is_highest = last.is_none_or(|&last| self.height(facet, last) < height);
        let coplanar = &mut self.facets[facet].coplanar;
        if is_highest {
            coplanar.push(point);
        } else {
            push_before_last(coplanar, point);
        }
        Some(())
    }

    /// Gives the points of vanishing facets and vertices to new facets.
    pub(super) fn partition_visible(&mut self) -> Option<()> {
        for visible in self.visible_facets() {
            let outside = std::mem::take(&mut self.facets[visible].outside);
            let coplanar = std::mem::take(&mut self.facets[visible].coplanar);
            if outside.is_empty() && coplanar.is_empty() {
                continue;
            }
            let replacement = self.replacement(visible).or(self.first_new);
            let start = replacement.filter(|&facet| facet != END)?;
            for point in outside {
                self.partition_point(point, start)?;
            }
            for point in coplanar {
                self.partition_coplanar(point, start, self.searches_all_new)?;
            }
        }
        for vertex in self.deleted_vertices.clone() {
            if !self.vertices[vertex].is_partitioned {
                let start = self.first_new.filter(|&facet| facet != END)?;
                self.partition_coplanar(self.vertices[vertex].point, start, true)?;
                self.vertices[vertex].is_partitioned = true;
            }
        }
        Some(())
    }

    /// The facet that a vanished one became part of.
    pub(super) fn replacement(&self, facet: usize) -> Option<usize> {
        let mut found = facet;
        let mut steps = 0;
        while self.facets[found].is_visible {
            found = self.facets[found].replacement?;
            steps += 1;
            if steps > self.facets.len() {
                return None;
            }
        }
        Some(found)
    }

    /// Climbs from a facet to the one over which a point is highest, or to the first that it is outside of unless
    /// `wants_best`.
    fn best_from(
        &mut self,
        point: usize,
        start: usize,
        wants_best: bool,
        only_new: bool,
    ) -> Option<Best> {
        self.visit += 1;
        let visit = self.visit;
        let outside = self.tolerances.outside;
        let found = |facet: usize, height: f64| Best {
            facet,
            height,
            is_outside: true,
        };
        let mut best = None;
        let mut most = f64::MIN / 2.0;
        if !self.facets[start].is_flipped {
            most = self.height(start, point);
            if !wants_best && most >= outside {
                return Some(found(start, most));
            }
            best = Some(start);
        }
        self.facets[start].visit = visit;
        let mut from = Some(start);
        while let Some(facet) = from.take() {
            for place in 0..self.facets[facet].neighbors.len() {
                let neighbor = self.facets[facet].neighbors[place];
                if only_new && !self.facets[neighbor].is_new || self.facets[neighbor].visit == visit
                {
                    continue;
                }
                self.facets[neighbor].visit = visit;
                if self.facets[neighbor].is_flipped {
                    continue;
                }
                let height = self.height(neighbor, point);
                if height > most {
                    if !wants_best && height >= outside {
                        return Some(found(neighbor, height));
                    }
                    (best, most) = (Some(neighbor), height);
                    from = Some(neighbor);
                    break;
                }
            }
        }
        let Some(facet) = best else {
            let start = self.first_new.filter(|&facet| facet != END)?;
            return only_new.then(|| self.best_new(point, start, wants_best));
        };
        if only_new && !self.is_not_sharp && most < -self.tolerances.rounding {
            if self.is_sharp() {
                let best = self.best_new(point, facet, wants_best);
                self.searches_all_new = true;
                return Some(Best {
                    is_outside: best.is_outside && best.height >= outside,
                    ..best
                });
            }
            self.is_not_sharp = true;
        }
        let (facet, height) = self.best_near(point, facet, most);
        Some(Best {
            facet,
            height,
            is_outside: height >= outside,
        })
    }

    /// Whether normals of new facets differ in the sign of a component.
    fn is_sharp(&self) -> bool {
        let signs = |facet: usize| {
            self.facets[facet]
                .normal
                .unwrap_or_default()
                .map(|x| x > 0.0)
        };
        let new = self.new_facets();
        new.windows(2).any(|pair| signs(pair[0]) != signs(pair[1]))
    }

    /// The new facet over which a point is highest, or the first that it is clearly outside of unless `wants_best`.
    fn best_new(&mut self, point: usize, start: usize, wants_best: bool) -> Best {
        let clear = self.clearly_outside();
        let mut best = None;
        let mut most = f64::MIN / 2.0;
        for (first, is_second_round) in [(start, false), (self.first_new.unwrap_or(END), true)] {
            let mut facet = first;
            while facet != END && !(is_second_round && facet == start) {
                if !self.facets[facet].is_flipped {
                    let height = self.height(facet, point);
                    if height > most {
                        best = Some(facet);
                        if !wants_best && height >= clear {
                            return Best {
                                facet,
                                height,
                                is_outside: true,
                            };
                        }
                        most = height;
                    }
                }
                facet = self.facet_chain.next(facet);
            }
        }
        let (facet, height) = self.best_near(point, best.unwrap_or(start), most);
        Best {
            facet,
            height,
            is_outside: height >= self.tolerances.outside,
        }
    }

    /// Looks for a higher facet among those that are nearly coplanar.
    fn best_near(&mut self, point: usize, start: usize, height: f64) -> (usize, f64) {
        let reach = {
            let reach = self.max_outside + 2.0 * self.tolerances.rounding + self.tolerances.visible;
            if self.has_many_merges() {
                2.0 * reach
            } else {
                reach
            }
        };
        self.visit += 1;
        let visit = self.visit;
        let (mut best, mut most) = (start, height);
        let mut least = most - reach;
        let mut waiting: Vec<usize> = Vec::new();
        self.facets[start].visit = visit;
        let mut facet = start;
        loop {
            let mut next: Option<usize> = None;
            for place in 0..self.facets[facet].neighbors.len() {
                let neighbor = self.facets[facet].neighbors[place];
                if self.facets[neighbor].visit == visit {
                    continue;
                }
                self.facets[neighbor].visit = visit;
                if !self.facets[neighbor].is_flipped {
                    let height = self.height(neighbor, point);
                    if height > most {
                        least = height - reach;
                        if height > most + reach {
                            waiting.clear();
                        }
                        (best, most) = (neighbor, height);
                    } else if height < least {
                        continue;
                    }
                }
                waiting.extend(next.replace(neighbor));
            }
            match next.or_else(|| waiting.pop()) {
                Some(found) => facet = found,
                None => return (best, most),
            }
        }
    }
}
