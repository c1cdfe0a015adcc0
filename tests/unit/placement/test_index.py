"""What the index remembers, what it forgets, and when it gives ports a shelf of their own."""

from unittest.mock import patch

import pytest

from placement import Placed, Spare, index, place, standing
from placement.index import PoolIndex
from tests.placement_worlds import ONE_TIER, POOL, a_claim, a_fleet, a_node, a_request, vcpu

GPU = {"rmctl/cap.gpu": "*"}


def node_of(request, fleet):
    answer = place(request, fleet, ONE_TIER).answer
    return answer.node if isinstance(answer, Placed) else None


def rankings_made(work):
    with patch.object(standing, "_work_out", wraps=standing._work_out) as made:
        work()
    return made.call_count


@pytest.mark.req("P48")
def test_the_same_labels_are_ranked_once_and_again_after_a_label_changed():
    fleet = a_fleet(a_node("a"), a_node("b", labels={"rmctl/cap.gpu": "1"}))
    assert rankings_made(lambda: [place(a_request(labels=GPU), fleet, ONE_TIER) for _ in range(3)]) == 1
    assert node_of(a_request(labels=GPU), fleet) == "b"
    fleet.put_node(a_node("a", labels={"rmctl/cap.gpu": "1"}))
    fleet.put_node(a_node("b"))
    assert node_of(a_request(labels=GPU), fleet) == "a"


def test_claims_come_and_go_without_a_new_ranking():
    fleet = a_fleet(a_node("a"), a_node("b"), claims=[a_claim("a"), a_claim("b")])
    node_of(a_request(), fleet)

    def churn():
        for number in range(5):
            fleet.put_claim(a_claim("a", f"x/primary/{number}", 0.5))
            node_of(a_request(), fleet)

    assert rankings_made(churn) == 0


def test_an_image_that_is_asked_for_later_tells_nodes_apart_from_then_on():
    fleet = a_fleet(a_node("a"), a_node("b", images=frozenset({"i"})))
    asked = [a_request(), a_request(images=frozenset({"j"})), a_request(images=frozenset({"i"})), a_request()]
    assert [node_of(request, fleet) for request in asked] == ["a", "a", "b", "a"]


def test_a_value_that_is_asked_for_later_tells_nodes_apart_from_then_on():
    fleet = a_fleet(a_node("a", labels={"disk": "ssd"}), a_node("b", labels={"disk": "hdd"}))
    values = ["*", "hdd", "ssd", "tape"]
    assert [node_of(a_request(labels={"disk": value}), fleet) for value in values] == ["a", "b", "a", None]


def test_a_spare_that_is_taken_changes_its_class():
    fleet = a_fleet(a_node("a", spare=Spare()), a_node("b"))
    assert node_of(a_request(spare="avoid"), fleet) == "b"
    fleet.put_claim(a_claim("a", ask=2))
    assert node_of(a_request(spare="avoid"), fleet) == "a"


def test_ports_that_are_much_in_the_way_get_a_shelf():
    names = [f"n{number}" for number in range(10)]
    claims = [a_claim(name, ports=("80/tcp",)) for name in names[:9]]
    fleet = a_fleet(*(a_node(name) for name in names), claims=claims)
    request = a_request(ports=("80/tcp",))
    with patch.object(index, "PATIENCE", 1):
        found = [(node_of(request, fleet), fleet.index(POOL).shelf(request).ports) for _ in range(3)]
    assert found == [("n9", ()), *[("n9", ("80/tcp",))] * 2]


def test_an_index_is_made_for_the_pool_that_is_asked_and_for_each_copy_anew():
    fleet = a_fleet(a_node("a"), a_node("b", pool="next"))
    with patch.object(PoolIndex, "touch", autospec=True) as touched:
        node_of(a_request(), fleet)
        fleet.put_claim(a_claim("b"))
        fleet.copy().put_claim(a_claim("a"))
        assert touched.call_count == 0
        fleet.put_claim(a_claim("a"))
        assert touched.call_count == 1


def test_lookalikes_go_by_name_whatever_nobody_asked_about():
    fleet = a_fleet(a_node("a", vcpu(4, 0, 64)), a_node("b", vcpu(4, 0, 512)), claims=[a_claim("b", ask=vcpu(0, 0, 1))])
    assert node_of(a_request(ask=1), fleet) == "a"
